/** The text of one taint of `--register-with-taints`. */

/** `key=value:effect`, `key:effect`; undefined for anything else. */
export function parseTaint(text: string): { key: string; value?: string; effect: string } | undefined {
  const match = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text);
  if (match?.[1] === undefined || match[3] === undefined) return undefined;
  const value = match[2] ?? '';
  return value === '' ? { key: match[1], effect: match[3] } : { key: match[1], value, effect: match[3] };
}
