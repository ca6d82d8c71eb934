const backslash = 0x5c;

/** Index behind the string of a JSON text that starts at `at`; undefined where it has no end. */
export function endOfString(text: string, at: number): number | undefined {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return end + 1;
  }
  return undefined;
}
