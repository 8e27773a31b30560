"""The `data` of an answer as an instance of the caller's own pydantic class."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field, ValidationError

from agent.answer.schema import Answer

DataT = TypeVar("DataT", bound=BaseModel)


class TypedAnswer(Answer, Generic[DataT]):
    """An answer whose `data` is an instance of a pydantic class; None where it does not fit."""

    data: DataT | None = Field(default=None, exclude_if=lambda data: data is None)  # type: ignore[assignment]


def with_typed_data(answer: Answer, model: type[DataT]) -> TypedAnswer[DataT]:
    """The answer with its data as an instance of `model`.

    What was not found is null, or the field's default. Where a field allows neither, there is no
    data, and a warning says so: the slots still have what was found.
    """
    fields = {name: getattr(answer, name) for name in Answer.model_fields}
    fields["data"] = None
    try:
        if answer.data is not None:
            fields["data"] = model.model_validate(_without_nulls(answer.data))
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        told = f"There is no data of the class {model.__name__}: {'; '.join(faults)}."
        fields["warnings"] = (*answer.warnings, told)
    return TypedAnswer[model].model_construct(**fields)  # type: ignore[valid-type]


def _without_nulls(value: Any) -> Any:
    """Plain data without its nulls, so that the defaults of a class count."""
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value
