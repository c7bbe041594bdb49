/** Whether a terminal would obey a part of the text. Tabs and the ends of lines do no harm. */
export function hasControls(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (isControl(text.charCodeAt(i))) return true
  return false
}

/** The same text, with such parts spelled out: `\x1b`. */
export function visible(text: string): string {
  if (!hasControls(text)) return text
  return Array.from(text, (character) => {
    const code = character.charCodeAt(0)
    return isControl(code) ? `\\x${code.toString(16).padStart(2, '0')}` : character
  }).join('')
}

function isControl(code: number): boolean {
  const isBlank = code === 9 || code === 10 || code === 13
  return (code < 0x20 && !isBlank) || (code >= 0x7f && code < 0xa0)
}
