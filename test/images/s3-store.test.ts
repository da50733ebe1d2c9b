import { PutObjectCommand } from '@aws-sdk/client-s3';
import t from 'tap';
import { S3Store } from '../../src/images/s3-store.ts';
import { missing } from '../support/installed.ts';
import { clientOf, SwiftServer } from '../support/swift.ts';
import { PAGE, testStore } from './contract.ts';

t.setTimeout(600_000);

const skip = missing('swift');
if (skip) t.plan(0, skip);
else {
  const server = await SwiftServer.start(t);
  testStore({
    name: 's3',
    create: async (t) => {
      const place = await server.bucket();
      const opened = () => {
        const store = new S3Store(place, { pageSize: PAGE });
        t.teardown(() => store.close());
        return store;
      };
      const bare = clientOf(place);
      t.teardown(() => bare.destroy());
      return {
        store: opened(),
        placeOther: async (name) => {
          await bare.send(new PutObjectCommand({ Bucket: place.bucket, Key: name, Body: 'x' }));
        },
        other: opened,
      };
    },
  });
}
