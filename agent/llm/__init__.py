"""Language models: the chain in which they are asked, and one file for each provider.

To add a provider: a file here with a class of the protocol `Model`, and its line in the dict
`MODEL_PROVIDERS` of `agent/run/models.py`.
"""

from agent.llm.model import Generation, Model
from agent.llm.model_chain import ModelChain, model_label

__all__ = [
    "Generation",
    "Model",
    "ModelChain",
    "model_label",
]
