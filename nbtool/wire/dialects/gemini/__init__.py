"""Google's generateContent: Gemini by its own API, and by Vertex AI."""
