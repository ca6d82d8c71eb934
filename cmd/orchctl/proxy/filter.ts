/** Which requests the proxy passes on, by the rules and with the defaults of release 1.24 (kubectl's `pkg/proxy`). Pure. */
import { type Pattern, Patterns } from '#apimachinery/patterns/pattern.js';

export const filterDefaults = {
  acceptPaths: '^.*',
  rejectPaths: '^/api/.*/pods/.*/exec,^/api/.*/pods/.*/attach',
  acceptHosts: String.raw`^localhost$,^127\.0\.0\.1$,^\[::1\]$`,
  rejectMethods: '^$',
};

/** Of `filterDefaults`, each a list of regular expressions between commas; an empty one matches nothing. */
export type FilterRules = Readonly<Record<keyof typeof filterDefaults, string>>;

export interface FilteredRequest {
  readonly method: string;
  /** Decoded, as the API server gets it. */
  readonly path: string;
  /** The header, with a port or without. */
  readonly host: string;
}

/** Throws an error that says what is wrong with a pattern. */
export function requestFilter(rules: FilterRules): (request: FilteredRequest) => boolean {
  const patterns = new Patterns();
  const compiled = (text: string): readonly Pattern[] =>
    text === '' ? [] : text.split(',').map((each) => patterns.compile(each));
  const [acceptPaths, rejectPaths] = [compiled(rules.acceptPaths), compiled(rules.rejectPaths)];
  const [acceptHosts, rejectMethods] = [compiled(rules.acceptHosts), compiled(rules.rejectMethods)];
  const matches = (text: string, any: readonly Pattern[]) => any.some((pattern) => pattern.test(text));
  return ({ method, path, host }) =>
    !matches(path, rejectPaths) &&
    !matches(method, rejectMethods) &&
    matches(path, acceptPaths) &&
    matches(host.replace(/:\d*$/, ''), acceptHosts);
}
