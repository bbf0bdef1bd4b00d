"""Execution of calls: attempts within a deadline, pools of connections, pacing, HTTP."""
