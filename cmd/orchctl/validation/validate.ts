/**
 * Validates objects before they are sent, like kubectl 1.24: servers that validate fields get the directive; for other
 * servers the objects are validated here by the OpenAPI document.
 */
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { parseGroupVersion } from '#apimachinery/group-version.js';
import type { OpenAPIDocument } from '#cmd/orchctl/api/open-api.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';
import { type GroupVersionKind, ModelSource } from '#cmd/orchctl/validation/model.js';
import { modelErrors } from '#cmd/orchctl/validation/validate-model.js';
import type { OptionTable } from '#daemon/options/option.js';

export const validateOption = {
  validate: {
    type: 'string',
    default: 'strict',
    alone: 'strict',
    section: 'Writing',
    meaning:
      "How to treat unknown fields: strict (or true) refuses the object, warn sends it and shows the server's warnings, ignore (or false) skips the check. For servers that do not validate fields, objects are checked against their OpenAPI document.",
  },
} as const satisfies OptionTable;

export type Directive = 'Strict' | 'Warn' | 'Ignore';

const directives: Readonly<Record<string, Directive>> = { strict: 'Strict', warn: 'Warn', ignore: 'Ignore' };

/** The value of `--validate` as query parameter `fieldValidation`. Throws a UsageError for an invalid value. */
export function directiveOf(text: string): Directive {
  if (/^(1|t|T|true|TRUE|True)$/.test(text)) return 'Strict';
  if (/^(0|f|F|false|FALSE|False)$/.test(text)) return 'Ignore';
  const directive = Object.hasOwn(directives, text) ? directives[text] : undefined;
  if (directive !== undefined) return directive;
  throw new UsageError(
    `invalid - validate option ${quoted(text)}; must be one of: strict (or true), warn, ignore (or false)`,
  );
}

/** An object from a file. */
export interface CheckedObject {
  readonly object: { readonly apiVersion?: string; readonly kind?: string };
  readonly source: string;
}

export interface ValidateOptions {
  readonly directive: Directive;
  /** Fetches the server's OpenAPI v2 document. */
  readonly document: () => Promise<OpenAPIDocument>;
  readonly warn: (text: string) => void;
}

const turnOff = 'if you choose to ignore these errors, turn validation off with --validate=false';

/** Rejects with a CommandError for the first file with invalid objects; then nothing is sent. */
export async function validateManifests(manifests: readonly CheckedObject[], options: ValidateOptions): Promise<void> {
  const { directive, document, warn } = options;
  if (directive === 'Ignore') return;
  const openAPI = await document();
  for (const manifest of manifests) {
    const kind = kindOf(manifest);
    const { models, dialect } = modelsFor(openAPI, kind);
    if (validatesFields(models, kind, dialect)) continue;
    if (directive === 'Warn') {
      warn('cannot perform warn validation if server-side field validation is unsupported, skipping validation');
      continue;
    }
    const model = models.modelOf(kind);
    const errors = model === undefined ? [] : modelErrors(manifest.object, model, kind.kind);
    if (errors.length === 0) continue;
    const distinct = [...new Set(errors)];
    const text = distinct.length === 1 ? distinct[0] : `[${distinct.join(', ')}]`;
    const source = manifest.source === '-' ? 'STDIN' : manifest.source;
    throw new CommandError(`error validating ${quoted(source)}: error validating data: ${text}; ${turnOff}`);
  }
}

function kindOf({ object }: CheckedObject): GroupVersionKind {
  const { group, version } = parseGroupVersion(object.apiVersion ?? '');
  return { group, version, kind: object.kind ?? '' };
}

/** The document's models by the names of its dialect. */
function modelsFor(document: OpenAPIDocument, kind: GroupVersionKind) {
  const all = [kubernetesDialect, orchDialect].map((dialect) => ({
    dialect,
    models: new ModelSource(document, `${dialect.extensionPrefix}group-version-kind`),
  }));
  const [first = { dialect: orchDialect, models: new ModelSource(document, 'x-none') }] = all;
  return all.find(({ models }) => models.modelOf(kind) !== undefined) ?? first;
}

// Custom kinds appear in the document with a delay, so check a built-in kind: the server treats all kinds alike.
function validatesFields(models: ModelSource, kind: GroupVersionKind, dialect: Dialect): boolean {
  const ownSupport = models.takes('fieldValidation', kind);
  const namespace = { group: dialect.groupName('core'), version: 'v1', kind: 'Namespace' };
  return ownSupport ?? models.takes('fieldValidation', namespace) ?? false;
}
