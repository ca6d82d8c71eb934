/** PEM (RFC 7468): base64 blocks between BEGIN and END lines. */

export interface PemBlock {
  /** `CERTIFICATE`, `PRIVATE KEY`, … */
  readonly label: string;
  readonly der: Buffer;
}

/** One block as text with a trailing newline. */
export function encodePem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** All blocks of a text, in order; skips text between the blocks. */
export function decodePem(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  for (const match of text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----/g))
    blocks.push({ label: match[1] ?? '', der: Buffer.from(match[2] ?? '', 'base64') });
  return blocks;
}

/** The certificates of a bundle, as DER. */
export function certificatesInPem(text: string): Buffer[] {
  return decodePem(text)
    .filter((block) => block.label === 'CERTIFICATE')
    .map((block) => block.der);
}
