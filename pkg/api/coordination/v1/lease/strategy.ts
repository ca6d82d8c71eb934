import { declaration as schema } from '#api/coordination/v1/lease.js';
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

const checkRanges = rangesOf(schema.types.LeaseSpec, 'leaseDurationSeconds', 'leaseTransitions');
const specPath = FieldPath.of('spec');

export const leaseStrategy: Strategy<Lease> = kindStrategy<Lease>(leases, {
  anyGenerateNameOnUpdate: true,
  allowCreateOnUpdate: true,
  anyFinalizer: true,
  // An unconditional update could steal a lease.
  allowUnconditionalUpdate: false,
  validate: (lease) => checkRanges(lease.spec, specPath),
  cells: (lease, context) => [
    lease.metadata.name ?? '',
    lease.spec.holderIdentity ?? '',
    age(lease.metadata.creationTimestamp, context.now),
  ],
});
