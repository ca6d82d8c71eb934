/** Creates the cloud provider of `--cloud-provider`. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { CloudProvider } from '#cloud/provider/provider.js';
import { cloudProvider } from '#cloud/registry.js';
import type { ControllerManagerValues } from '#controllers/options/options.js';
import { textOf } from '#daemon/certificates/followed-file.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';

/** Undefined without a provider. Rejects with OptionsError. */
export function cloudOf(values: ControllerManagerValues, dialect: Dialect): Promise<CloudProvider | undefined> {
  return cloudProvider({
    provider: values['cloud-provider'],
    configFile: values['cloud-config'],
    dialect,
    read: (path) => textOf('cloud-config', path),
    disabled: new FeatureGates(values['feature-gates']).enabled('DisableCloudProviders'),
  });
}
