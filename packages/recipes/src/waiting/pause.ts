/** How long to wait before asking a server again that refused: its disk is full, or it is busy. */
export const refusedPauseMs = 500
