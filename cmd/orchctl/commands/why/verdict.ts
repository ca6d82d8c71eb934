/** What the API server says of an object, asked by a dry run that changes nothing. */
import { toJSONText } from '#apimachinery/json-text.js';
import { type Api, collectionPath, failureOf, objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import { objectName } from '#cmd/orchctl/api/resources.js';
import { fieldManager } from '#cmd/orchctl/commands/apply.js';
import type { Manifest } from '#cmd/orchctl/commands/manifests.js';
import { stepOf, type Verdict, warningsIn, webhooksIn } from '#cmd/orchctl/commands/why/refusal.js';

/** As though it were applied, whoever manages its fields. */
export async function verdictOf(api: Api, { object, resource, namespace }: Manifest): Promise<Verdict> {
  const { name = '' } = object.metadata;
  const query = { fieldManager, dryRun: 'All', fieldValidation: 'Strict' };
  const text = toJSONText(object);
  const answer = await (name === ''
    ? api.answer('POST', withQuery(collectionPath(resource, { namespace }), query), text, {
        'content-type': 'application/json',
      })
    : api.answer('PATCH', withQuery(objectPath(resource, name, { namespace }), { ...query, force: 'true' }), text, {
        'content-type': 'application/apply-patch+yaml',
      }));
  const { status, headers } = answer;
  const told = {
    object: objectName(resource, name === '' ? `${object.metadata.generateName ?? ''}…` : name),
    webhooks: webhooksIn(headers['server-timing']),
    warnings: warningsIn(headers['warning']),
  };
  if (status < 400) return { ...told, outcome: 'Accepted' };
  const failure = failureOf(status, answer.text).status;
  const { message = '' } = failure;
  return { ...told, outcome: 'Refused', step: stepOf(failure), message };
}
