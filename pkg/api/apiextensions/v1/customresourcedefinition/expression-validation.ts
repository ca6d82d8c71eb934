/** Rules of the validation expressions of a schema. */
import { type CelEnvironment, parseExpression } from '#api/apiextensions/v1/customresourcedefinition/cel/parser.js';
import { CelError } from '#api/apiextensions/v1/customresourcedefinition/cel/tokens.js';
import type { ValidationRule } from '#api/apiextensions/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** The value, the value before the change, and the names of types. */
const variables =
  'self oldSelf bool bytes double duration dyn int list map null_type string timestamp type uint google';

/** Those of the language, of its strings extension, and of lists, regular expressions and URLs. */
const functions = [
  'bool bytes contains double duration dyn endsWith getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear',
  'getHours getMilliseconds getMinutes getMonth getSeconds int matches size startsWith string timestamp type uint',
  'charAt indexOf join lastIndexOf lowerAscii replace split substring trim upperAscii',
  'isSorted max min sum find findAll',
  'url isURL getEscapedPath getHost getHostname getPort getQuery getScheme',
].join(' ');

const environment: CelEnvironment = {
  variables: new Set(variables.split(' ')),
  functions: new Set(functions.split(' ')),
};

/** `path` is of the list. `uncorrelatable` is the schema below which a value's predecessor cannot be told. */
export function validateExpressions(
  rules: readonly ValidationRule[],
  path: FieldPath,
  uncorrelatable?: FieldPath,
): FieldFailure[] {
  return rules.flatMap((rule, i) => [
    ...validateTexts(rule, path.index(i)),
    ...validateRule(rule, path.index(i).child('rule'), uncorrelatable),
  ]);
}

function validateTexts({ rule = '', message = '' }: ValidationRule, path: FieldPath): FieldFailure[] {
  const messagePath = path.child('message');
  const hasNewline = (text: string): boolean => /[\n\r]/.test(text.trim());
  if (rule.trim() === '') return [required(path.child('rule'), 'rule is not specified')];
  if (message !== '' && message.trim() === '') {
    return [invalidValue(messagePath, message, 'message must be non-empty if specified')];
  }
  if (hasNewline(message)) return [invalidValue(messagePath, message, 'message must not contain line breaks')];
  if (!hasNewline(rule) || message.trim() !== '') return [];
  return [required(messagePath, 'message must be specified if rule contains line breaks')];
}

function validateRule(rule: ValidationRule, path: FieldPath, uncorrelatable: FieldPath | undefined): FieldFailure[] {
  const text = rule.rule ?? '';
  if (text.trim() === '') return [];
  try {
    const { sort, variables: used } = parseExpression(text, environment);
    if (sort !== 'bool' && sort !== 'unknown') {
      return [invalidValue(path, rule, 'cel expression must evaluate to a bool')];
    }
    if (uncorrelatable === undefined || !used.has('oldSelf')) return [];
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`;
    return [invalidValue(path, text, detail)];
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    return [invalidValue(path, rule, `compilation failed: ${describe(text, error)}`)];
  }
}

/** The error as compilers show it: where, what, the line and a mark below. */
function describe(text: string, { message, offset }: CelError): string {
  const before = text.slice(0, offset).split('\n');
  const column = before.at(-1)?.length ?? 0;
  const line = text.split('\n')[before.length - 1] ?? '';
  return `ERROR: <input>:${before.length}:${column + 1}: ${message}\n | ${line}\n | ${'.'.repeat(column)}^`;
}
