/** What Go's URL parser refuses, in its words (`net/url`), of the texts that options have. */
import { quoted } from '#apimachinery/errors/shown.js';

/** Undefined for what it takes, which is nearly everything: a host needs no dots, and a text without a scheme is a path. */
export function goURLError(text: string): string | undefined {
  const why = problemOf(text);
  return why === undefined ? undefined : `parse ${quoted(text)}: ${why}`;
}

function problemOf(text: string): string | undefined {
  if (/[\u0000-\u001f\u007f]/.test(text)) return 'net/url: invalid control character in URL';
  if (text.startsWith(':')) return 'missing protocol scheme';
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(text)?.[0] ?? '';
  const rest = text.slice(scheme.length).replace(/[?#].*$/, '');
  if (scheme === '' && !text.startsWith('/') && /^[^/?#]*:/.test(text)) {
    return 'first path segment in URL cannot contain colon';
  }
  const authority = rest.startsWith('//') ? (/^\/\/([^/]*)/.exec(rest)?.[1] ?? '') : undefined;
  const host = authority?.replace(/^.*@/, '');
  if (host?.startsWith('[') === true && !host.includes(']')) return "missing ']' in host";
  const port = host === undefined ? undefined : /^(?:\[[^\]]*\]|[^:]*)(:.*)?$/.exec(host)?.[1];
  if (port !== undefined && !/^:\d*$/.test(port)) return `invalid port ${quoted(port)} after host`;
  const path = authority === undefined ? rest : rest.slice(authority.length + 2);
  const broken = /%(?![0-9a-f]{2}).{0,2}/is.exec(path)?.[0];
  return broken === undefined ? undefined : `invalid URL escape ${quoted(broken)}`;
}
