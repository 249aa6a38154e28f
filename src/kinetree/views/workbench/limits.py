"""How much a browser may send."""

MESSAGE_BYTES = 1 << 20  # the viewer cuts uploads into parts of half of this
MESSAGES_PER_SECOND = 400  # a dragged slider sends 20 a second
UPLOAD_BYTES = 16 << 20
UPLOAD_PARTS = 64
UPLOADS_AT_ONCE = 2
CONNECTIONS = 16
