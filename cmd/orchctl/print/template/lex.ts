/** Cuts a Go template into texts and the tokens of its actions. Pure. */
import { TemplateError } from '#cmd/orchctl/print/template/nodes.js';

export type Token =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'open' | 'close' }
  | { readonly type: 'word' | 'field' | 'variable' | 'symbol'; readonly text: string }
  | { readonly type: 'constant'; readonly value: unknown }
  | { readonly type: 'space' };

/** Throws a TemplateError. */
export function tokensOf(template: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let trimNext = false;
  while (at < template.length) {
    const open = template.indexOf('{{', at);
    let text = template.slice(at, open < 0 ? undefined : open);
    if (trimNext) text = text.trimStart();
    const trims = open >= 0 && /^\{\{-\s/.test(template.slice(open, open + 4));
    if (trims) text = text.trimEnd();
    if (text !== '') tokens.push({ type: 'text', text });
    if (open < 0) break;
    const start = open + (trims ? 3 : 2);
    const comment = /^\s*\/\*[\s\S]*?\*\/\s*/.exec(template.slice(start))?.[0];
    const end = comment === undefined ? lexAction(template, start, tokens) : start + comment.length;
    const closing = /^(\s-)?\}\}|^-\}\}/.exec(template.slice(end))?.[0];
    if (closing === undefined) throw new TemplateError('unclosed action');
    trimNext = closing.includes('-');
    at = end + closing.length;
  }
  return tokens;
}

const patterns: readonly [RegExp, (text: string) => Token][] = [
  [/^\s+/, () => ({ type: 'space' })],
  [/^"(?:[^"\\\n]|\\.)*"/, (text) => ({ type: 'constant', value: unquoted(text) })],
  [/^`[^`]*`/, (text) => ({ type: 'constant', value: text.slice(1, -1).replaceAll('\r', '') })],
  [
    /^'(?:[^'\\\n]|\\.)+'/,
    (text) => ({ type: 'constant', value: unquoted(`"${text.slice(1, -1)}"`).codePointAt(0) ?? 0 }),
  ],
  [/^[-+]?(?:0[xX][\da-fA-F]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)/, (text) => ({ type: 'constant', value: Number(text) })],
  [/^\$[\p{L}\d_]*/u, (text) => ({ type: 'variable', text })],
  [/^\.[\p{L}_][\p{L}\d_]*/u, (text) => ({ type: 'field', text: text.slice(1) })],
  [/^[\p{L}_][\p{L}\d_]*/u, (text) => ({ type: 'word', text })],
  [/^(?::=|[=|(),.])/, (text) => ({ type: 'symbol', text })],
];

/** Returns where the action ends. */
function lexAction(template: string, start: number, tokens: Token[]): number {
  tokens.push({ type: 'open' });
  let at = start;
  for (;;) {
    const rest = template.slice(at);
    if (rest === '') throw new TemplateError('unclosed action');
    if (/^(?:\s-)?\}\}/.test(rest)) break;
    const match = patterns
      .map(([pattern, make]) => ({ text: pattern.exec(rest)?.[0], make }))
      .find(({ text }) => text !== undefined);
    if (match?.text === undefined) throw new TemplateError(`unexpected ${JSON.stringify(rest.charAt(0))} in action`);
    tokens.push(match.make(match.text));
    at += match.text.length;
  }
  tokens.push({ type: 'close' });
  return at;
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' };

function unquoted(text: string): string {
  return text
    .slice(1, -1)
    .replaceAll(/\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-7]{3}|.)/g, (_, code: string) => {
      if (/^[xuU]./.test(code)) return String.fromCodePoint(Number.parseInt(code.slice(1), 16));
      if (/^[0-7]{3}$/.test(code)) return String.fromCodePoint(Number.parseInt(code, 8));
      return escapes[code] ?? code;
    });
}
