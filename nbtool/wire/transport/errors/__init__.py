"""Why a request failed: no connection, a refusal, and what helps."""
