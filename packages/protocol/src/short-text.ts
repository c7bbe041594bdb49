/** Texts of at most this length are mostly ASCII: JavaScript handles them faster than a call out of it. */
export const shortText = 64
