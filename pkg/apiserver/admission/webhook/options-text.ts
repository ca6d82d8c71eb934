/** The options of a request, as webhooks are told them. Pure. */
import type { Dialect } from '#apimachinery/dialect.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { AdmissionAttributes } from '#apiserver/admission/admission.js';

const kinds = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' } as const;

/** JSON; `null` for connections, which have none. */
export function optionsText(
  dialect: Dialect,
  { operation, dryRun, options }: Pick<AdmissionAttributes, 'operation' | 'dryRun' | 'options'>,
  query: URLSearchParams,
): string {
  if (operation === 'CONNECT') return 'null';
  const head = { kind: kinds[operation], apiVersion: dialect.apiVersion('meta', 'v1') };
  const dry = dryRun ? { dryRun: ['All'] } : {};
  if (operation === 'DELETE') return toJSONText({ ...head, ...options, dryRun: undefined, ...dry });
  const fieldManager = query.get('fieldManager') ?? '';
  const fieldValidation = query.get('fieldValidation') ?? '';
  return toJSONText({
    ...head,
    ...dry,
    ...(fieldManager === '' ? {} : { fieldManager }),
    ...(fieldValidation === '' ? {} : { fieldValidation }),
  });
}
