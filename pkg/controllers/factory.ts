/** What controllers are made from. */
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
  /** PEM bundle that verifies the API server; without it, it is not published. */
  readonly rootCA: Followed<string> | undefined;
  /** Of the signers of certificates; none: nothing is signed. */
  readonly authorities: SigningAuthorities;
  /** Signs tokens of service accounts; without it, no secrets of tokens are filled in. */
  readonly tokenKey: Followed<JwtSigningKey> | undefined;
  /** Of the machine; absent: none of them can be volumes. */
  readonly hostDirectories: HostDirectories | undefined;
  /** Templates of the pods that empty volumes; absent: the standard one. */
  readonly recyclers: Readonly<Partial<Record<keyof Recyclers, RecyclerTemplate>>>;
  /** Of `--cloud-provider`. */
  readonly cloud: CloudProvider | undefined;
}

/** Makes the controller, or says why the options leave it nothing to do. */
export type ControllerFactory = (context: ControllerContext, inputs: ControllerInputs) => Controller | string;
