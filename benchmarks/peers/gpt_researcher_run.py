"""Asks gpt-researcher one question; runs in its own environment. The last line is JSON.

usage: gpt_researcher_run.py QUESTION [REPORT_TYPE]
"""

import asyncio
import json
import sys
import time


async def main(question, kind="research_report"):
    from gpt_researcher import GPTResearcher

    begun = time.monotonic()
    researcher = GPTResearcher(query=question, report_type=kind, verbose=False)
    await researcher.conduct_research()
    answer = await researcher.write_report()
    print()
    print(json.dumps({"answer": answer, "seconds": time.monotonic() - begun}))


asyncio.run(main(*sys.argv[1:]))
