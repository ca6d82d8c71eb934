import { serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { ServiceAccount } from '#api/core/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import type { Draft } from '#apimachinery/draft.js';

export const serviceAccountStrategy: Strategy<ServiceAccount> = kindStrategy<ServiceAccount>(serviceaccounts, {
  deletionAnswer: 'object',
  prepareForCreate: keepNamesOnly,
  prepareForUpdate: keepNamesOnly,
  cells: (account, context) => [
    account.metadata.name ?? '',
    account.secrets?.length ?? 0,
    age(account.metadata.creationTimestamp, context.now),
  ],
});

/** References to secrets only have a name; all other fields are dropped. */
function keepNamesOnly(account: Draft<ServiceAccount>): void {
  if (account.secrets === undefined) return;
  account.secrets = account.secrets.map(({ name }) => (name === undefined ? {} : { name }));
}
