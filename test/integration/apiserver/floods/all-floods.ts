/** Every flood of the soak. */
import { floods } from '#test/integration/apiserver/floods/attacks.js';
import { tenantFloods } from '#test/integration/apiserver/floods/tenant.js';

export const allFloods = { ...floods, ...tenantFloods };
