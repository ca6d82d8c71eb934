/** The inputs of controller factories. */
import type { CloudProvider } from '#cloud/provider/provider.js';
import type { SigningAuthorities } from '#controllers/csrsigning/controller.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import type { ControllerManagerValues } from '#controllers/options/options.js';
import type { HostDirectories } from '#controllers/persistentvolumebinder/host-path.js';
import type { Recyclers, RecyclerTemplate } from '#controllers/persistentvolumebinder/recycling.js';
import type { Followed } from '#daemon/certificates/followed-file.js';
import type { JwtSigningKey } from '#pki/jwt.js';

export interface ControllerInputs {
  readonly values: ControllerManagerValues;
  /** PEM bundle that verifies the API server; published if set. */
  readonly rootCA: Followed<string> | undefined;
  /** Keys of the certificate signers; empty if nothing is signed. */
  readonly authorities: SigningAuthorities;
  /** Signs service account tokens; without it, token secrets stay empty. */
  readonly tokenKey: Followed<JwtSigningKey> | undefined;
  /** Directories of this machine that can be volumes; undefined if none can. */
  readonly hostDirectories: HostDirectories | undefined;
  /** Templates of recycler pods; by default the standard template. */
  readonly recyclers: Readonly<Partial<Record<keyof Recyclers, RecyclerTemplate>>>;
  /** The provider of `--cloud-provider`. */
  readonly cloud: CloudProvider | undefined;
}

/** Returns the controller, or the reason why the options disable it. */
export type ControllerFactory = (context: ControllerContext, inputs: ControllerInputs) => Controller | string;
