/** What is particular to leases. */
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy.js';
import { age } from '#api/table/age.js';
import { checkNonNegative, checkPositive } from '#apimachinery/validation/checks.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');

export const leaseStrategy: Strategy<Lease> = kindStrategy<Lease>(leases, {
  anyGenerateNameOnUpdate: true,
  allowCreateOnUpdate: true,
  // Who overwrites a lease unseen may break somebody's hold.
  allowUnconditionalUpdate: false,
  validate: (lease) => [
    ...checkPositive(specPath.child('leaseDurationSeconds'), lease.spec.leaseDurationSeconds),
    ...checkNonNegative(specPath.child('leaseTransitions'), lease.spec.leaseTransitions),
  ],
  cells: (lease, context) => [
    lease.metadata.name ?? '',
    lease.spec.holderIdentity ?? '',
    age(lease.metadata.creationTimestamp, context.now),
  ],
});
