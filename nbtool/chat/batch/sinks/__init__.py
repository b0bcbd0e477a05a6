"""Where the answers of a streamed map go.

answer_sink.py      an SQLite file, a Parquet or Arrow file, or a function
sqlite_sink.py      the SQLite file, which a later map continues
columnar_export.py  writing of Parquet and Arrow
file_lock.py        only one map at a time writes a file
"""
