/** Reads a write request: the query parameters common to all writes, and the object in the body. */
import type { ApiObjectShape } from '#api/meta/object.js';
import { andThen, inSteps, type MaybePromise } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { FieldValidation } from '#apimachinery/codec/json/json.js';
import { type Encoding, requestEncoding } from '#apimachinery/codec/negotiate.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { isPrintable, quoted } from '#apimachinery/errors/message-values.js';
import { badRequest, type FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue, notSupported, tooLong } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { type RequestContext, warn } from '#apiserver/http/request-context.js';
import { invalidOptions, type OptionsKind } from '#apiserver/registry/request-errors.js';
import { pauseOf } from '#apiserver/registry/write-steps.js';
import type { Codec, Decoded, TypeRef } from '#apiserver/resources/codec.js';
import type { StrategyEnvironment } from '#apiserver/resources/strategy-context.js';

export interface WriteOptions {
  readonly dryRun: boolean;
  /** Manager of the written fields; never empty. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
}

const maxFieldManager = 128;

/** The feature gate behind server-side apply and the managers of fields. */
export const applyGate = 'ServerSideApply';

/** The feature gate behind `fieldValidation`. */
export const fieldValidationGate = 'ServerSideFieldValidation';

type Server = Pick<StrategyEnvironment, 'dialect' | 'gate'>;

/** Throws 400 for a request to try something while the feature gate is off. An empty parameter is such a request, too. */
export function requireDryRuns({ gate }: Pick<Server, 'gate'>, { query }: RequestContext['info']): void {
  if (query.has('dryRun') && !gate('DryRun')) throw badRequest('the dryRun feature is disabled');
}

const fieldValidations = ['', 'Ignore', 'Strict', 'Warn'];

/**
 * Throws 422 with all unsupported values. `kind` names the options in messages; `own` are failures of parameters that only
 * this kind has.
 */
export function writeOptions(
  server: Server,
  context: RequestContext,
  kind: OptionsKind,
  own: readonly FieldFailure[] = [],
): WriteOptions {
  const { query } = context.info;
  requireDryRuns(server, context.info);
  const fieldManager = query.get('fieldManager') ?? '';
  const fieldValidation = query.get('fieldValidation') ?? '';
  const dryRuns = query.getAll('dryRun');
  const failures = [...own, ...fieldManagerFailures(fieldManager), ...dryRunFailures(dryRuns)];
  if (!fieldValidations.includes(fieldValidation)) {
    failures.push(notSupported(FieldPath.of('fieldValidation'), fieldValidation, fieldValidations));
  }
  if (failures.length > 0) throw invalidOptions(server.dialect, kind, failures);
  return {
    dryRun: dryRuns.includes('All'),
    fieldManager: fieldManager === '' ? defaultManager(context.request.headers['user-agent']) : fieldManager,
    fieldValidation: directive(server, fieldValidation),
  };
}

/** How to treat unknown and repeated fields. With the gate off they are dropped, whatever the request says. */
function directive({ gate }: Server, fieldValidation: string): FieldValidation {
  if (!gate(fieldValidationGate)) return 'Ignore';
  return fieldValidation === '' ? 'Warn' : (fieldValidation as FieldValidation);
}

/** Failures of a manager's name: too many bytes, or unprintable characters. */
function fieldManagerFailures(manager: string): FieldFailure[] {
  const path = FieldPath.of('fieldManager');
  const failures = Buffer.byteLength(manager) > maxFieldManager ? [tooLong(path, maxFieldManager)] : [];
  let position = 0;
  for (const character of manager) {
    if (!isPrintable(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
      failures.push(invalidValue(path, manager, `invalid character U+${code} (at position ${position})`));
    }
    position += Buffer.byteLength(character);
  }
  return failures;
}

/** `dryRun` without a value does nothing; `All` is the only value (specification 1, 4.7). */
export function dryRunFailures(values: readonly string[]): FieldFailure[] {
  if (values.every((value) => value === '' || value === 'All')) return [];
  // 1.24 prints the list in Go syntax.
  const shown = `[]string{${values.map(quoted).join(', ')}}`;
  const { field, reason } = notSupported(FieldPath.of('dryRun'), '', []);
  return [{ field, reason, message: `Unsupported value: ${shown}: supported values: "All"` }];
}

/** The program's name from the User-Agent: the text before the first slash. */
function defaultManager(userAgent: string | undefined): string {
  const name = (userAgent ?? '').split('/', 1)[0]?.trim() ?? '';
  return name === '' ? 'unknown' : name.slice(0, maxFieldManager);
}

export interface BodyReader {
  readonly dialect: Dialect;
  readonly codec: Codec;
  /** Reads long bodies in turns. */
  readonly turns: TurnQueue;
}

/** The body's encoding; JSON if the request names none. Throws 415. */
export function bodyEncoding({ dialect }: Pick<BodyReader, 'dialect'>, context: RequestContext): Encoding {
  return requestEncoding(context.request.headers['content-type'], dialect);
}

/**
 * The body as an object of type `expected`. Throws 415 for its media type, 400 for undecodable bodies, other kinds and, with
 * fieldValidation=Strict, unknown or repeated fields; otherwise these become warnings.
 */
export function readBody(
  reader: BodyReader,
  context: RequestContext,
  expected: TypeRef,
  fieldValidation: FieldValidation,
): MaybePromise<Draft<ApiObjectShape>> {
  const encoding = bodyEncoding(reader, context);
  const { body, repeatedKeys, yamlFault } = context.request;
  const read = ({ object, warnings }: Decoded): Draft<ApiObjectShape> => {
    context.audit?.requested(object);
    for (const text of warnings) warn(context, text);
    return object;
  };
  const options = { validation: fieldValidation, repeatedKeys, yamlFault };
  const steps = reader.codec.decodeSteps(body, encoding, expected, options);
  return andThen(inSteps(steps, pauseOf({ registry: reader, context })), read);
}
