"""Operations on turns that exist: rerun, resume, re-execute, edit, insert."""
