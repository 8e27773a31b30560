"""Watches: questions that are asked again on a schedule, with notices when the answer changes."""
