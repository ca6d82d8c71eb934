/** The values of `--cloud-provider`. */
import type { Dialect } from '#apimachinery/dialect.js';
import { bareMetal, bareMetalConfig, bareMetalProvider, type ReadConfig } from '#cloud/baremetal/provider.js';
import type { CloudProvider } from '#cloud/provider/provider.js';
import { OptionsError } from '#daemon/options/option.js';

/** The provider's controllers run in another program. */
export const external = 'external';

export interface CloudOptions {
  /** `--cloud-provider`: empty for none. */
  readonly provider: string;
  /** `--cloud-config`: a path. */
  readonly configFile: string;
  readonly dialect: Dialect;
  /** Reads a text file. */
  readonly read: (path: string) => Promise<string>;
  /** `DisableCloudProviders`: built-in providers must not be used. */
  readonly disabled: boolean;
}

const makers: Readonly<Record<string, (dialect: Dialect, read: ReadConfig, source: string) => Promise<CloudProvider>>> =
  {
    [bareMetal]: (dialect, read, source) => bareMetalProvider(dialect, bareMetalConfig(read, source)),
  };

/** Undefined for an empty or external provider. Throws OptionsError. */
export async function cloudProvider(options: CloudOptions): Promise<CloudProvider | undefined> {
  const { provider, configFile, dialect, read, disabled } = options;
  if (provider === '' || provider === external) return undefined;
  const make = Object.hasOwn(makers, provider) ? makers[provider] : undefined;
  if (make === undefined) throw new OptionsError([`unknown cloud provider "${provider}"`]);
  if (disabled) {
    throw new OptionsError([
      `cloud provider "${provider}" was specified, but built-in cloud providers are disabled. Please set --cloud-provider=external and migrate to an external cloud provider`,
    ]);
  }
  if (configFile === '') throw new OptionsError([`--cloud-provider=${provider} requires --cloud-config`]);
  return make(dialect, () => read(configFile), configFile);
}
