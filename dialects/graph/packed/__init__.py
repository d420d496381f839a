"""Operations on the NCHWc layout and on packed weights; passes introduce them, no importer."""
