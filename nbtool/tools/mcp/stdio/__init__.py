"""The program that runs between the notebook and a server on stdio; it uses nothing of nbtool."""
