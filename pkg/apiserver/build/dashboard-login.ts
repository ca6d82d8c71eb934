/** The login of the dashboard's users at the OpenID Connect provider whose tokens the server accepts. */
import { processClock } from '#apimachinery/clock.js';
import { openIdAuthority } from '#apiserver/build/authentication.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import type { DashboardLogin } from '#apiserver/http/dashboard-login.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { FollowedFile } from '#daemon/certificates/followed-file.js';

/** Undefined without a provider or a dashboard. Throws OptionsError for a file that cannot be read. */
export async function buildDashboardLogin(
  values: ApiServerValues,
  { clock, clusterClock = clock, log }: ServerEnvironment,
): Promise<DashboardLogin | undefined> {
  const { 'oidc-issuer-url': issuer = '', 'oidc-client-id': clientId = '', dashboard } = values;
  if (!dashboard || issuer === '') return undefined;
  const option = 'dashboard-oidc-client-secret-file';
  const secret = await FollowedFile.read(option, values[option], (text) => text.trim());
  const { CodeExchange } = await import('#apiserver/authentication/oidc/code-exchange.js');
  return new CodeExchange({
    ...{ issuer, clientId, clock: processClock(clusterClock), scopes: values['dashboard-oidc-scopes'] },
    ca: await openIdAuthority(values, log),
    clientSecret:
      secret === undefined
        ? undefined
        : async () => {
            await secret.reload();
            return secret.current;
          },
  });
}
