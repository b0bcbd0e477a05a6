"""Endpoints for images, speech and transcription."""
