/** `$(NAME)` in commands, arguments and values of variables. */

/**
 * Replaces each `$(NAME)` that is known; `$$(NAME)` is a literal `$(NAME)`; unknown names stay as they are.
 * (release 1.24: third_party/forked/golang/expansion.)
 */
export function expand(text: string, variables: ReadonlyMap<string, string>, onUnknown?: () => void): string {
  if (!text.includes('$')) return text;
  return text.replace(/\$\$|\$\(([^)]*)\)/g, (match, name: string | undefined) => {
    if (match === '$$' || name === undefined) return '$';
    const value = variables.get(name);
    if (value === undefined) onUnknown?.();
    return value ?? match;
  });
}
