"""Plan, gather, find gaps, draft: a report in stages."""
