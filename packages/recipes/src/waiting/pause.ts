/** How long to wait before asking again a server that refused: its disk is full, or it is busy. */
export const refusedPauseMs = 500
