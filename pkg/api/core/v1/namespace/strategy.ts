import { namespaces } from '#api/core/v1/resources.gen.js';
import type { Namespace } from '#api/core/v1/types.gen.js';
import { validateKnownFinalizer } from '#api/meta/v1/objectmeta/validation.js';
import { copyField, kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkQualifiedName } from '#apimachinery/validation/checks.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { dns1123LabelErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

export const namespaceStrategy: Strategy<Namespace> = kindStrategy<Namespace>(namespaces, {
  name: dns1123LabelErrors,
  defaults(namespace, context) {
    labelWithName(namespace, context.dialect);
    namespace.status ??= {};
    namespace.status.phase ||= 'Active';
  },
  prepareForCreate(namespace) {
    namespace.status = { phase: 'Active' };
  },
  completeCreate(namespace, { dialect }) {
    // Added after field validation: clients do not know this finalizer.
    const finalizers = namespace.spec.finalizers ?? [];
    if (!finalizers.includes(dialect.namespaceFinalizer))
      namespace.spec.finalizers = [...finalizers, dialect.namespaceFinalizer];
    // A generated name is known only here.
    labelWithName(namespace, dialect);
  },
  prepareForUpdate(namespace, old) {
    copyField(namespace.spec, old.spec, 'finalizers');
  },
  heldBySpec: ({ spec }) => (spec.finalizers ?? []).length > 0,
  terminating: (namespace) => ({ ...namespace, status: { ...namespace.status, phase: 'Terminating' } }),
  partUpdates: {
    finalize: {
      prepare: prepareFinalize,
      validate: (namespace, _old, context) => validateFinalize(namespace, context),
    },
  },
  validate: (namespace, context) => validateFinalizers(namespace, context.dialect),
  validateStatusUpdate: (namespace) => validatePhase(namespace),
  selectableFields: (namespace) => ({ 'status.phase': namespace.status?.phase ?? '' }),
  cells: (namespace, context) => [
    namespace.metadata.name ?? '',
    namespace.status?.phase ?? '',
    age(namespace.metadata.creationTimestamp, context.now),
  ],
});

function labelWithName(namespace: Draft<Namespace>, dialect: Dialect): void {
  const name = namespace.metadata.name ?? '';
  // Fast path, since this runs several times per write.
  if (namespace.metadata.labels?.[dialect.labels.metadataName] === name) return;
  if (name !== '') namespace.metadata.labels = { ...namespace.metadata.labels, [dialect.labels.metadataName]: name };
}

const finalizersPath = FieldPath.of('spec', 'finalizers');

function validateFinalizers(
  namespace: Namespace,
  dialect: Dialect,
  at: (index: number) => FieldPath = () => finalizersPath,
): FieldFailure[] {
  return (namespace.spec.finalizers ?? []).flatMap((finalizer, i) => [
    ...checkQualifiedName(at(i), finalizer),
    ...validateKnownFinalizer(finalizer, dialect, at(i)),
  ]);
}

function validatePhase(namespace: Namespace): FieldFailure[] {
  const phase = namespace.status?.phase ?? '';
  const deleted = namespace.metadata.deletionTimestamp !== undefined;
  const expectedPhase = deleted ? 'Terminating' : 'Active';
  if (phase === expectedPhase) return [];
  const text = `may only be '${expectedPhase}' if \`deletionTimestamp\` is ${deleted ? 'not ' : ''}empty`;
  return [invalidValue(FieldPath.of('status', 'Phase'), phase, text)];
}

/** An update of `finalize` changes only the finalizers of the spec; in place, before validation. */
export function prepareFinalize(namespace: Draft<Namespace>, old: Namespace): void {
  copyField(namespace, old, 'status');
}

/** Rules of an update of `finalize`. */
export function validateFinalize(namespace: Namespace, context: StrategyContext): FieldFailure[] {
  return validateFinalizers(namespace, context.dialect, (i) => finalizersPath.index(i));
}
