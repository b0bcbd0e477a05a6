"""JSON schemas as every model's server takes them: one normal form, what single dialects refuse, and names."""

from nbtool.json_schema.bounds import UnfitSchema
from nbtool.json_schema.normal_form import NormalSchema, normalize, normalize_parameters

__all__ = ["NormalSchema", "UnfitSchema", "normalize", "normalize_parameters"]
