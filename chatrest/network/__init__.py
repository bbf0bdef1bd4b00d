"""From a call to the network and back: attempts under one deadline, pools, pacing, HTTP."""
