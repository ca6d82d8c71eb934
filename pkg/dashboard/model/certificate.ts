/** Reads of an X.509 certificate what answers about ingresses need (RFC 5280), without Node.js. */

interface Element {
  readonly tag: number;
  readonly start: number;
  readonly end: number;
}

const sequence = 0x30;
const utcTime = 0x17;
const oid = 0x06;
const extensionsTag = 0xa3;
const subjectAltNames = '551d11';
const commonName = '550403';
const dnsTag = 0x82;
const ipTag = 0x87;

export class Certificate {
  /** Times in the form that `Date.parse` reads. */
  readonly validFrom: string;
  readonly validTo: string;
  /** `DNS:a.example, DNS:*.b.example`, as Node.js writes it. */
  readonly subjectAltName: string | undefined;
  readonly subject: string;

  /** The first certificate of a PEM text, as bytes or text. Throws an Error for anything else. */
  constructor(pem: Uint8Array | string) {
    const text = typeof pem === 'string' ? pem : new TextDecoder().decode(pem);
    const body = /-----BEGIN CERTIFICATE-----([\sA-Za-z0-9+/=]+)-----END/.exec(text)?.[1];
    if (body === undefined) throw new Error('no certificate');
    const bytes = Uint8Array.from(atob(body.replace(/\s/g, '')), (letter) => letter.charCodeAt(0));
    const fields = inside(bytes, only(bytes, inside(bytes, { tag: sequence, start: 0, end: bytes.length })[0]));
    const certificate = inside(bytes, only(bytes, fields[0]));
    // The version is absent in the first one.
    const from = certificate[0]?.tag === 0xa0 ? 3 : 2;
    const [, validity, subject] = certificate.slice(from);
    const [notBefore, notAfter] = inside(bytes, only(bytes, validity));
    this.validFrom = timeOf(bytes, only(bytes, notBefore));
    this.validTo = timeOf(bytes, only(bytes, notAfter));
    this.subject = nameOf(bytes, only(bytes, subject));
    this.subjectAltName = alternatives(
      bytes,
      certificate.find(({ tag }) => tag === extensionsTag),
    );
  }

  /** The name that covers the host; a wildcard stands for one label. */
  checkHost(host: string): string | undefined {
    const names = (this.subjectAltName ?? '')
      .split(', ')
      .flatMap((name) => (name.startsWith('DNS:') ? [name.slice(4)] : []));
    const cn = /^CN=(.*)$/m.exec(this.subject)?.[1];
    const all = names.length > 0 || cn === undefined ? names : [cn];
    return all.find((name) => covers(name.toLowerCase(), host.toLowerCase()));
  }
}

function covers(name: string, host: string): boolean {
  if (!name.startsWith('*.')) return name === host;
  const dot = host.indexOf('.');
  return dot > 0 && host.slice(dot) === name.slice(1);
}

function only(bytes: Uint8Array, element: Element | undefined): Element {
  if (element === undefined || element.end > bytes.length) throw new Error('the certificate is cut off');
  return element;
}

/** The elements inside of another one. */
function inside(bytes: Uint8Array, { start, end }: Element): Element[] {
  const elements: Element[] = [];
  let at = start;
  while (at < end) {
    const tag = bytes[at] ?? 0;
    let length = bytes[at + 1] ?? 0;
    at += 2;
    if (length > 0x80) {
      const digits = length - 0x80;
      if (digits > 4) throw new Error('an element is too long');
      length = 0;
      for (let i = 0; i < digits; i++) length = length * 256 + (bytes[at + i] ?? 0);
      at += digits;
    }
    if (at + length > end) throw new Error('the certificate is cut off');
    elements.push({ tag, start: at, end: at + length });
    at += length;
  }
  return elements;
}

function timeOf(bytes: Uint8Array, { tag, start, end }: Element): string {
  const text = ascii(bytes, start, end);
  const century = tag === utcTime ? (Number(text.slice(0, 2)) < 50 ? '20' : '19') : '';
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(century + text) ?? [];
  if (year === undefined) throw new Error('a time is malformed');
  return `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
}

function nameOf(bytes: Uint8Array, name: Element): string {
  const parts = inside(bytes, name).flatMap((set) => inside(bytes, set));
  const lines = parts.flatMap((part) => {
    const [type, value] = inside(bytes, part);
    if (type?.tag !== oid || value === undefined) return [];
    const text = new TextDecoder().decode(bytes.subarray(value.start, value.end));
    return [`${hex(bytes, type) === commonName ? 'CN' : hex(bytes, type)}=${text}`];
  });
  return lines.join('\n');
}

function alternatives(bytes: Uint8Array, extensions: Element | undefined): string | undefined {
  if (extensions === undefined) return undefined;
  for (const extension of inside(bytes, only(bytes, inside(bytes, extensions)[0]))) {
    const parts = inside(bytes, extension);
    const [type] = parts;
    const value = parts.at(-1);
    if (type === undefined || value === undefined || hex(bytes, type) !== subjectAltNames) continue;
    const names = inside(bytes, only(bytes, inside(bytes, value)[0]));
    return names
      .flatMap(({ tag, start, end }) => {
        if (tag === dnsTag) return [`DNS:${ascii(bytes, start, end)}`];
        return tag === ipTag && end - start === 4 ? [`IP Address:${bytes.subarray(start, end).join('.')}`] : [];
      })
      .join(', ');
  }
  return undefined;
}

function ascii(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...bytes.subarray(start, end));
}

function hex(bytes: Uint8Array, { start, end }: Element): string {
  return [...bytes.subarray(start, end)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
