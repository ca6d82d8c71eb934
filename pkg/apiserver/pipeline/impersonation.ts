/**
 * Impersonation: a request may ask to be treated as another user's (`Impersonate-User`, `-Group`, `-Uid`, `-Extra-*`)
 * when its own user is allowed to `impersonate` each of them.
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

interface Wanted {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** The user that the request is to be treated as. Throws 403 where `user` may not, 400 for headers without a user. */
export function impersonate(
  request: ApiRequest,
  user: UserInfo,
  authorizer: Authorizer,
  dialect: Dialect,
): MaybePromise<UserInfo> {
  const wanted = wantedUser(request);
  return wanted === undefined ? user : become(wanted, { request, user, authorizer, dialect });
}

interface Impersonation {
  readonly request: ApiRequest;
  readonly user: UserInfo;
  readonly authorizer: Authorizer;
  readonly dialect: Dialect;
}

async function become(wanted: Wanted, { request, user, authorizer, dialect }: Impersonation): Promise<UserInfo> {
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
  const account = serviceAccount(wanted.name);
  if (account !== undefined) await check('serviceaccounts', account.name, { namespace: account.namespace });
  else await check('users', wanted.name, {});
  for (const group of wanted.groups) await check('groups', group, {});
  if (wanted.uid !== '') await check('uids', wanted.uid, { group: authentication });
  for (const [key, values] of Object.entries(wanted.extra)) {
    for (const value of values) await check('userextras', value, { group: authentication, subresource: key });
  }
  return impersonated(wanted, account, dialect);
}

function impersonated(wanted: Wanted, account: { namespace: string } | undefined, dialect: Dialect): UserInfo {
  const groups = [...wanted.groups];
  if (account !== undefined && groups.length === 0) {
    groups.push(dialect.groups.serviceAccounts, `${dialect.groups.serviceAccounts}:${account.namespace}`);
  }
  const { authenticated, unauthenticated } = dialect.groups;
  if (wanted.name === anonymous) {
    if (!groups.includes(unauthenticated)) groups.push(unauthenticated);
  } else if (!groups.includes(authenticated) && !groups.includes(unauthenticated)) groups.push(authenticated);
  return { name: wanted.name, groups, ...(wanted.uid === '' ? {} : { uid: wanted.uid }), extra: wanted.extra };
}

function wantedUser(request: ApiRequest): Wanted | undefined {
  const { headers } = request;
  let extra: Map<string, readonly string[]> | undefined;
  let asked = false;
  for (const name in headers) {
    // Hardly any request has such headers, and each request comes through here.
    if (!name.startsWith(prefix)) continue;
    asked = true;
    if (!name.startsWith(extraPrefix)) continue;
    extra ??= new Map();
    const key = extraKey(name.slice(extraPrefix.length));
    extra.set(key, [...(extra.get(key) ?? []), ...headerValues(request, name)]);
  }
  if (!asked) return undefined;
  const name = headers['impersonate-user'] ?? '';
  const groups = headerValues(request, 'impersonate-group');
  const uid = headers['impersonate-uid'] ?? '';
  if (name !== '') return { name, groups, uid, extra: Object.fromEntries(extra ?? []) };
  if (groups.length === 0 && uid === '' && extra === undefined) return undefined;
  throw badRequest('requested groups, uid or extra for impersonation without impersonating a user');
}

/** Keys that are no names of headers are percent-encoded; what is no such encoding stands for itself, as in 1.24. */
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
