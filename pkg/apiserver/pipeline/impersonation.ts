/**
 * Impersonation: a request may act as another user (`Impersonate-User`, `-Group`, `-Uid`, `-Extra-*`) when its own user is
 * allowed to `impersonate` each of these.
 */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest } from '#apimachinery/errors/status.js';
import { authorize } from '#apiserver/authorization/authorize.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';
import { headerValues } from '#daemon/serving/header-values.js';

const prefix = 'impersonate-';
const extraPrefix = 'impersonate-extra-';
const serviceAccountPrefix = 'system:serviceaccount:';
const anonymous = 'system:anonymous';

interface TargetUser {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** The user that the request acts as. Throws 403 where `user` may not impersonate, 400 for headers without a user. */
export function impersonate(
  request: ApiRequest,
  user: UserInfo,
  authorizer: Authorizer,
  dialect: Dialect,
): MaybePromise<UserInfo> {
  const target = targetUser(request);
  return target === undefined ? user : become(target, { request, user, authorizer, dialect });
}

interface Impersonation {
  readonly request: ApiRequest;
  readonly user: UserInfo;
  readonly authorizer: Authorizer;
  readonly dialect: Dialect;
}

async function become(target: TargetUser, { request, user, authorizer, dialect }: Impersonation): Promise<UserInfo> {
  const check = (resource: string, name: string, more: { namespace?: string; subresource?: string; group?: string }) =>
    authorize(authorizer, {
      user,
      verb: 'impersonate',
      resourceRequest: true,
      group: more.group ?? '',
      version: 'v1',
      resource,
      subresource: more.subresource ?? '',
      namespace: more.namespace ?? '',
      name,
      path: request.url,
    });
  const authentication = dialect.groupName('authentication');
  const account = serviceAccount(target.name);
  if (account !== undefined) await check('serviceaccounts', account.name, { namespace: account.namespace });
  else await check('users', target.name, {});
  for (const group of target.groups) await check('groups', group, {});
  if (target.uid !== '') await check('uids', target.uid, { group: authentication });
  for (const [key, values] of Object.entries(target.extra)) {
    for (const value of values) await check('userextras', value, { group: authentication, subresource: key });
  }
  return impersonated(target, account, dialect);
}

function impersonated(target: TargetUser, account: { namespace: string } | undefined, dialect: Dialect): UserInfo {
  const groups = [...target.groups];
  if (account !== undefined && groups.length === 0) {
    groups.push(dialect.groups.serviceAccounts, `${dialect.groups.serviceAccounts}:${account.namespace}`);
  }
  const { authenticated, unauthenticated } = dialect.groups;
  if (target.name === anonymous) {
    if (!groups.includes(unauthenticated)) groups.push(unauthenticated);
  } else if (!groups.includes(authenticated) && !groups.includes(unauthenticated)) groups.push(authenticated);
  return { name: target.name, groups, ...(target.uid === '' ? {} : { uid: target.uid }), extra: target.extra };
}

function targetUser(request: ApiRequest): TargetUser | undefined {
  const { headers } = request;
  let extra: Map<string, readonly string[]> | undefined;
  let impersonates = false;
  for (const name in headers) {
    // Hot path: few requests have these headers.
    if (!name.startsWith(prefix)) continue;
    impersonates = true;
    if (!name.startsWith(extraPrefix)) continue;
    extra ??= new Map();
    const key = extraKey(name.slice(extraPrefix.length));
    extra.set(key, [...(extra.get(key) ?? []), ...headerValues(request, name)]);
  }
  if (!impersonates) return undefined;
  const name = headers['impersonate-user'] ?? '';
  const groups = headerValues(request, 'impersonate-group');
  const uid = headers['impersonate-uid'] ?? '';
  if (name !== '') return { name, groups, uid, extra: Object.fromEntries(extra ?? []) };
  if (groups.length === 0 && uid === '' && extra === undefined) return undefined;
  throw badRequest('requested groups, uid or extra for impersonation without impersonating a user');
}

/** Keys may be percent-encoded; like 1.24, invalid encoding is taken literally. */
function extraKey(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

function serviceAccount(user: string): { namespace: string; name: string } | undefined {
  if (!user.startsWith(serviceAccountPrefix)) return undefined;
  const [namespace, name, ...rest] = user.slice(serviceAccountPrefix.length).split(':');
  if (namespace === undefined || name === undefined || rest.length > 0) return undefined;
  return { namespace, name };
}
