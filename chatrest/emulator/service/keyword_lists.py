"""The operations of keyword lists: documents that are made of a form, or of JSON.

Terms come as a comma list, as an array, or in a file of comma-separated values. Quotes stay inside the terms
of a file, and a list of lists leaks members of the service's database.
"""

from typing import Any, Final, Literal

from msgspec import UNSET, UnsetType, structs

from ..store.documents import Document
from .bodies import Body, read_form
from .context import Call, Context, Handler
from .documents import DocumentCollection, serve, serve_list
from .envelopes import acked, data_reply
from .moderation_engine import KEYWORD_LISTS
from .multipart import UploadedFile


class KeywordListBody(Body):
    """POST and PUT of a keyword list."""

    category: Literal["word", "pattern", "sentence-similarity"]
    id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    search_terms: str | list[str] | UnsetType = UNSET
    disallowed_sentences: list[str] | UnsetType = UNSET
    file: UploadedFile | UnsetType = UNSET


def _read(call: Call) -> Document:
    """Return the members of a form as a document, with the terms as a list."""
    body = read_form(call.headers.get("content-type", ""), call.body, KeywordListBody)
    document: dict[str, Any] = {
        wire: value
        for wire, value in zip(body.__struct_encode_fields__, structs.astuple(body), strict=True)
        if value is not UNSET and wire not in ("file", "searchTerms")
    }
    if isinstance(body.file, UploadedFile):
        text = body.file.data.decode(errors="replace")
        document |= {"isCSV": True, "searchTerms": _terms(text.splitlines())}
    elif body.search_terms is not UNSET:
        served = body.search_terms
        terms = _terms([served] if isinstance(served, str) else served)
        document |= {"isCSV": False, "searchTerms": terms}
    return document


def _terms(lines: list[str]) -> list[str]:
    terms = [term.strip() for line in lines for term in line.split(",")]
    return [term for term in terms if term]


def _revised(context: Context, keyword_list: Document) -> Document:
    """Give a list a new revision."""
    number = int(str(keyword_list.get("revisionId", "-0")).rpartition("-")[2]) + 1
    defaults: dict[str, Any] = {"name": "", "isCSV": False, "searchTerms": []}
    return {**defaults, **keyword_list, "active": True, "revisionId": f"{keyword_list['id']}-{number}"}


LISTS: Final = DocumentCollection(
    kind=KEYWORD_LISTS,
    missing="ERR_KEYWORD_NOT_FOUND",
    parameter="keywordId",
    read=_read,
    written=_revised,
)


def list_keyword_lists(context: Context, call: Call) -> list[Document]:
    """Return the lists, each with what the service leaks of its database."""
    app = context.app["id"]
    return [
        {**each, "_id": f"{app}_{each['id']}", "appId": app, "__v": 0} for each in LISTS.list(context, call)
    ]


KEYWORD_HANDLERS: Final[dict[str, Handler]] = {
    "moderation.list_keyword_lists": serve_list(list_keyword_lists),
    "moderation.get_keyword_list": serve(LISTS.get, data_reply),
    "moderation.create_keyword_list": serve(LISTS.create, data_reply),
    "moderation.update_keyword_list": serve(LISTS.update, data_reply),
    "moderation.delete_keyword_list": serve(LISTS.delete, acked("The keyword list has been deleted.")),
}
