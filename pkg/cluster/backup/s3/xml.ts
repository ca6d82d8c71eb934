/** The few XML texts of S3's protocol, whose elements have no attributes that matter and do not nest in themselves. Pure. */

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Texts of all elements of that name, unescaped only where they have no elements of their own. */
export function textsOf(text: string, name: string): string[] {
  const texts: string[] = [];
  const [open, close] = [`<${name}>`, `</${name}>`];
  for (let at = text.indexOf(open); at >= 0; ) {
    const end = text.indexOf(close, at);
    if (end < 0) break;
    texts.push(unescaped(text.slice(at + open.length, end)));
    at = text.indexOf(open, end);
  }
  return texts;
}

/** Text of the first element of that name. */
export function textOf(text: string, name: string): string | undefined {
  return textsOf(text, name)[0];
}

function unescaped(text: string): string {
  if (text.includes('<')) return text;
  return text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (all, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return entities[name] ?? all;
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : all;
  });
}

/** The request that joins the parts of an upload, by their tags in order. */
export function completion(tags: readonly string[]): string {
  const escaped = (tag: string) => tag.replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`);
  const parts = tags.map((tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`);
  return `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
}
