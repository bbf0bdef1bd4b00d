from tests.emulator.conftest import ServiceClient


def test_a_null_record_does_not_stop_an_import(ask: ServiceClient) -> None:
    users = {"zoe": {"uid": "zoe", "name": "Zoe"}, "odd": {"uid": 7}}
    outcomes = ask.post("/v3/data_import/users", {"users": users}).json["data"]
    assert (outcomes["zoe"]["success"], outcomes["odd"]["success"]) == (True, False)
    assert outcomes["odd"]["error"]["code"] == "ERR_IMPORT_INVALID_USER_FORMAT"
