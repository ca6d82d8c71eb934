/** Rules of bindings: the choice of a node for a pod. */
import type { Binding } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { notSupported, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const targetPath = FieldPath.of('target');

/** The target must be a node, by name. */
export function validateBinding(binding: Binding): readonly FieldFailure[] {
  const { kind = '', name = '' } = binding.target ?? {};
  const failures: FieldFailure[] = [];
  if (kind !== '' && kind !== 'Node') {
    failures.push(notSupported(targetPath.child('kind'), kind, ['Node', '<empty>']));
  }
  if (name === '') failures.push(required(targetPath.child('name')));
  return failures;
}
