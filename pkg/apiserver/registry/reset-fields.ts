/** What endpoints reset in the objects that are written through them, which nobody manages by writing it there. */
import { type Unmanaged, unmanagedBy } from '#apimachinery/apply/managed-fields.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** All that is not the status belongs to the object itself. */
const statusAlone = ['spec', 'metadata'];

/** Nothing is stored of what is only asked, and nothing reset. */
const nothing: readonly string[] = [];

/** By group, resource and subresource: where 1.24 resets something else than elsewhere (`GetResetFields` of its strategies). */
const particular: ReadonlyMap<string, Unmanaged> = new Map(
  Object.entries({
    'apiextensions/customresourcedefinitions/status': statusAlone,
    'apiregistration/apiservices/status': statusAlone,
    'apiserverinternal/storageversions/status': statusAlone,
    'apps/deployments/status': ['spec', 'metadata.labels'],
    'authentication/tokenreviews/': nothing,
    'authorization/localsubjectaccessreviews/': nothing,
    'authorization/selfsubjectaccessreviews/': nothing,
    'authorization/subjectaccessreviews/': nothing,
    'certificates/certificatesigningrequests/': ['spec', 'status'],
    'certificates/certificatesigningrequests/approval': ['spec', 'status.certificate'],
    'certificates/certificatesigningrequests/status': ['spec', 'status.conditions'],
    'core/namespaces/finalize': ['status'],
    'core/pods/status': ['spec', 'metadata.deletionTimestamp', 'metadata.ownerReferences'],
    'flowcontrol/flowschemas/status': statusAlone,
    'flowcontrol/prioritylevelconfigurations/status': statusAlone,
    'storage/volumeattachments/status': statusAlone,
  }).map(([endpoint, fields]) => [endpoint, unmanagedBy(fields)]),
);

/** Undefined for endpoints that reset what all of their name do: the status, `/status` the spec, and others nothing. */
export function resetFields({ declaration, edition }: ServedResource, subresource: string): Unmanaged | undefined {
  if (edition !== undefined) return undefined;
  return particular.get(`${declaration.group}/${declaration.resource}/${subresource}`);
}
