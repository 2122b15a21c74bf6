//! A bucket: lists, reads and writes files with signed requests, or anonymously where no credentials are set.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use pinakes_remote::address::SIGNED_FOR;
use pinakes_remote::exchange::WholeReply;
use pinakes_remote::host::{Extent, Failure, Host, RetryPolicy, in_region};
use rusty_s3::actions::{CreateMultipartUpload, ListObjectsV2, ListObjectsV2Response};
use rusty_s3::{Bucket as SignedBucket, Credentials, S3Action};
use ureq::http::{HeaderName, Method, StatusCode, header};

use crate::error::{Error, Result};
use crate::remote::USER_AGENT;

const SCHEME: &str = "s3://";
/// Most bytes of one request that uploads. A larger file is uploaded in parts of at least this size.
const UPLOAD_BYTES: u64 = 16 << 20;
/// Most parts of an upload.
const UPLOAD_PARTS_MAX: u64 = 10_000;
/// Most bytes of a list of files: about 600,000 files, by the names that are usual.
const LISTED_BYTES_MAX: usize = 96 << 20;
/// Bytes of a file in a list besides its name, at most.
const LISTED_FILE_BYTES: usize = 100;
const IF_NONE_MATCH: (HeaderName, &str) = (header::IF_NONE_MATCH, "*");

/// How this run asks buckets.
static SETTINGS: OnceLock<(RetryPolicy, Option<PathBuf>)> = OnceLock::new();
/// The buckets that this run has asked, by name.
static BUCKETS: LazyLock<Mutex<HashMap<String, Arc<Bucket>>>> = LazyLock::new(Mutex::default);

/// Sets how this run asks buckets. The PEM file `tls_ca` replaces the usual root certificates.
pub(crate) fn configure(retry_policy: RetryPolicy, tls_ca: Option<PathBuf>) {
    // Every run sets it once.
    let _ = SETTINGS.set((retry_policy, tls_ca));
}

/// Whether a path is the address of a bucket.
pub(crate) fn is_bucket(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().starts_with(SCHEME.as_bytes())
}

/// Splits `s3://BUCKET/KEY` into bucket and key, which may be empty.
pub(crate) fn split(path: &Path) -> Result<(&str, &str)> {
    let refused = |reason: &str| Error::Input { path: path.to_path_buf(), reason: reason.into() };
    let text = path.to_str().ok_or_else(|| refused("is not UTF-8"))?;
    let rest = text.strip_prefix(SCHEME).ok_or_else(|| refused("is not in a bucket"))?;
    Ok(rest.split_once('/').unwrap_or((rest, "")))
}

/// The client of one bucket. Requests are signed where the environment has credentials.
pub(crate) struct Bucket {
    host: Host,
}

/// A file in a bucket.
pub(crate) struct ListedFile {
    pub(crate) key: String,
    pub(crate) size_bytes: u64,
    pub(crate) etag: String,
}

impl Bucket {
    /// Returns the client of a bucket.
    pub(crate) fn open(name: &str) -> Result<Arc<Bucket>> {
        let mut buckets = BUCKETS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = buckets.get(name) {
            return Ok(Arc::clone(known));
        }
        let (retry_policy, tls_ca) =
            SETTINGS.get_or_init(|| (RetryPolicy::default(), None)).clone();
        let url = format!("{SCHEME}{name}");
        let host = Host::new(&url, USER_AGENT, retry_policy, tls_ca.as_deref())?;
        let bucket = Arc::new(Bucket { host });
        buckets.insert(name.to_owned(), Arc::clone(&bucket));
        Ok(bucket)
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the address of a file for messages.
    pub(crate) fn display(&self, key: &str) -> String {
        self.host.display(key)
    }

    /// Returns the URL of a file, without a signature.
    pub(crate) fn url(&self, key: &str) -> String {
        self.signed().0.object_url(key).to_string()
    }

    fn signed(&self) -> (&SignedBucket, Option<&Credentials>) {
        self.host.bucket()
    }

    /// Converts the failure of the last attempt into the error that stops the run.
    pub(crate) fn error(&self, key: &str, failure: Failure) -> Error {
        let url = self.display(key);
        match failure {
            Failure::Temporary(reason) | Failure::RetryAfter(reason, _) => {
                let attempts = self.host.attempts_max();
                let reason = format!("{reason}, in {attempts} attempts; run again to continue");
                Error::Transfer { url, reason }
            }
            Failure::Changed => {
                let reason = "the file changed while it was read; run again".into();
                Error::Transfer { url, reason }
            }
            Failure::NotFound => {
                let reason = "not found; check the bucket, the prefix and `AWS_ENDPOINT_URL`";
                Error::Fetch { url, reason: reason.into() }
            }
            Failure::Permanent(reason) => {
                let hint = "check `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION` and what \
                            the bucket permits";
                Error::Fetch { url, reason: format!("{reason}; {hint}") }
            }
            Failure::OtherRegion(region) => Error::Fetch { url, reason: in_region(&region) },
            Failure::Mismatch(reason) => Error::Damaged { path: url.into(), reason },
            Failure::Write { path, source } => Error::output(path)(source),
        }
    }

    /// Lists every file whose key begins with `prefix`, sorted by key.
    pub(crate) fn list(&self, prefix: &str) -> Result<Vec<ListedFile>> {
        let mut files = Vec::new();
        let mut token: Option<String> = None;
        let mut bytes = 0;
        loop {
            let page = self.list_page(prefix, token.as_deref(), None)?;
            let names = page.contents.iter().map(|file| file.key.len() + LISTED_FILE_BYTES);
            // A page without files counts, too.
            bytes += names.sum::<usize>().max(LISTED_FILE_BYTES * 10);
            if bytes > LISTED_BYTES_MAX {
                let reason = format!(
                    "lists more than {} MiB of names; give a longer prefix",
                    LISTED_BYTES_MAX >> 20
                );
                return Err(Error::Fetch { url: self.display(prefix), reason });
            }
            files.extend(page.contents.into_iter().filter_map(|file| {
                let (size_bytes, etag) = (file.size?, file.etag?);
                Some(ListedFile { key: file.key, size_bytes, etag })
            }));
            match page.next_continuation_token {
                Some(next) if Some(&next) != token.as_ref() => token = Some(next),
                _ => break,
            }
        }
        files.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(files)
    }

    /// Looks for the file of a key.
    pub(crate) fn find(&self, key: &str) -> Result<Option<ListedFile>> {
        // No key with this prefix comes before the key itself.
        let page = self.list_page(key, None, Some(1))?;
        let first = page.contents.into_iter().next().filter(|file| file.key == key);
        Ok(first.and_then(|file| {
            let (size_bytes, etag) = (file.size?, file.etag?);
            Some(ListedFile { key: file.key, size_bytes, etag })
        }))
    }

    fn list_page(
        &self,
        prefix: &str,
        token: Option<&str>,
        keys_max: Option<usize>,
    ) -> Result<ListObjectsV2Response> {
        let (bucket, credentials) = self.signed();
        let mut list: ListObjectsV2<'_> = bucket.list_objects_v2(credentials);
        if !prefix.is_empty() {
            list.with_prefix(prefix);
        }
        if let Some(token) = token {
            list.with_continuation_token(token);
        }
        if let Some(keys) = keys_max {
            list.with_max_keys(keys);
        }
        let reply = self.exchange(prefix, Method::GET, &list, &[], &[])?;
        let reply = self.expect_success(prefix, reply)?;
        ListObjectsV2::parse_response(&reply.xml()).map_err(|error| {
            let reason = format!("its list of files cannot be read: {error}");
            Error::Damaged { path: self.display(prefix).into(), reason }
        })
    }

    /// Reads a small file into memory; `None` if there is none.
    pub(crate) fn read_small(&self, key: &str, bytes_max: u64) -> Result<Option<Vec<u8>>> {
        match self.host.read_file(key, &Extent::UpTo(bytes_max)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Failure::NotFound) => Ok(None),
            Err(failure) => Err(self.error(key, failure)),
        }
    }

    /// Uploads a file under a name of its content. Unless `replaces`, a file that is there stays.
    pub(crate) fn upload(&self, key: &str, path: &Path, replaces: bool) -> Result<()> {
        let file = File::open(path).map_err(Error::input(path))?;
        let bytes = file.metadata().map_err(Error::input(path))?.len();
        if bytes > UPLOAD_BYTES {
            return self.upload_parts(key, path, &file, bytes, replaces);
        }
        let mut content = Vec::new();
        (&file).take(UPLOAD_BYTES).read_to_end(&mut content).map_err(Error::input(path))?;
        self.put(key, &content, replaces)
    }

    /// Uploads bytes under a name of their content. Unless `replaces`, a file that is there stays.
    pub(crate) fn put(&self, key: &str, content: &[u8], replaces: bool) -> Result<()> {
        let (bucket, credentials) = self.signed();
        let put = || bucket.put_object(credentials, key);
        if !replaces {
            let reply = self.exchange(key, Method::PUT, &put(), &[IF_NONE_MATCH], content)?;
            match reply.status {
                StatusCode::PRECONDITION_FAILED => return Ok(()),
                // The store knows no conditions. The name depends on the content, so replacing does no harm.
                StatusCode::NOT_IMPLEMENTED | StatusCode::BAD_REQUEST => {}
                _ => return self.expect_success(key, reply).map(drop),
            }
        }
        let reply = self.exchange(key, Method::PUT, &put(), &[], content)?;
        self.expect_success(key, reply).map(drop)
    }

    fn upload_parts(
        &self,
        key: &str,
        path: &Path,
        file: &File,
        bytes: u64,
        replaces: bool,
    ) -> Result<()> {
        let (bucket, credentials) = self.signed();
        let create = bucket.create_multipart_upload(credentials, key);
        let reply = self.exchange(key, Method::POST, &create, &[], &[])?;
        let reply = self.expect_success(key, reply)?;
        let created = CreateMultipartUpload::parse_response(&reply.xml())
            .map_err(|error| self.error(key, Failure::Permanent(error.to_string())))?;
        let id = created.upload_id();
        let outcome = self.upload_into(key, id, path, file, bytes, replaces);
        if !matches!(outcome, Ok(true)) {
            // The bucket keeps, and its owner pays for, the parts of an upload that nobody ends.
            let abort = bucket.abort_multipart_upload(credentials, key, id);
            let _ = self.exchange(key, Method::DELETE, &abort, &[], &[]);
        }
        outcome.map(drop)
    }

    /// Uploads the parts and completes the upload. Returns whether it was completed: `false` if another run
    /// has uploaded the file meanwhile.
    fn upload_into(
        &self,
        key: &str,
        id: &str,
        path: &Path,
        file: &File,
        bytes: u64,
        replaces: bool,
    ) -> Result<bool> {
        let (bucket, credentials) = self.signed();
        let part_bytes = UPLOAD_BYTES.max(bytes.div_ceil(UPLOAD_PARTS_MAX));
        let mut etags = Vec::new();
        for (number, from) in (1u16..).zip((0..bytes).step_by(part_bytes as usize)) {
            // The cast is exact: a part has a few MiB.
            let mut content = vec![0; part_bytes.min(bytes - from) as usize];
            file.read_exact_at(&mut content, from).map_err(Error::input(path))?;
            let upload = bucket.upload_part(credentials, key, number, id);
            let reply = self.exchange(key, Method::PUT, &upload, &[], &content)?;
            if !reply.status.is_success() {
                let parts = bytes.div_ceil(part_bytes);
                let reason = format!("part {number} of {parts}: {}", reply.answer());
                return Err(self.error(key, Failure::Permanent(reason)));
            }
            etags.push(reply.etag.ok_or_else(|| {
                self.error(key, Failure::Permanent("the store sends no ETag".into()))
            })?);
        }
        let complete = || {
            let etags = etags.iter().map(String::as_str);
            bucket.complete_multipart_upload(credentials, key, id, etags)
        };
        let body = complete().body();
        let conditions: &[_] = if replaces { &[] } else { &[IF_NONE_MATCH] };
        let send = |conditions: &[(HeaderName, &str)]| {
            self.exchange(key, Method::POST, &complete(), conditions, body.as_bytes())
        };
        let mut reply = send(conditions)?;
        if !replaces && matches!(reply.status.as_u16(), 400 | 501) {
            reply = send(&[])?;
        }
        if reply.status == StatusCode::PRECONDITION_FAILED {
            return Ok(false);
        }
        let reply = self.expect_success(key, reply)?;
        // A store may say 200 before it knows the outcome. The body tells: an error has a code, an object an ETag.
        // The name of the root does not, because stores differ in it.
        if reply.element("ETag").is_none() || reply.element("Code").is_some() {
            let (parts, answer) = (etags.len(), reply.answer());
            let reason = format!(
                "the upload of {parts} parts could not be completed: the store answered {answer}; run again"
            );
            return Err(Error::Transfer { url: self.display(key), reason });
        }
        Ok(true)
    }

    /// Sends a signed request, with retries.
    fn exchange<'a>(
        &self,
        key: &str,
        method: Method,
        action: &impl S3Action<'a>,
        headers: &[(HeaderName, &str)],
        body: &[u8],
    ) -> Result<WholeReply> {
        // Each attempt is signed anew: a signature expires.
        let attempt =
            || self.host.exchange(&method, action.sign(SIGNED_FOR).as_str(), headers, body);
        self.host.retry(attempt).map_err(|failure| self.error(key, failure))
    }

    /// Returns the reply if its status is a success.
    fn expect_success(&self, key: &str, reply: WholeReply) -> Result<WholeReply> {
        match reply.status {
            status if status.is_success() => Ok(reply),
            StatusCode::NOT_FOUND => Err(self.error(key, Failure::NotFound)),
            _ => Err(self.error(key, Failure::Permanent(reply.answer()))),
        }
    }
}

/// A prefix in a bucket: the directory of shared files.
#[derive(Clone)]
pub(crate) struct BucketPrefix {
    bucket: Arc<Bucket>,
    /// Empty, or ends in `/`.
    prefix: String,
}

impl BucketPrefix {
    /// Parses `s3://BUCKET/PREFIX`.
    pub(crate) fn parse(path: &Path) -> Result<BucketPrefix> {
        let (bucket, prefix) = split(path)?;
        let prefix = prefix.trim_end_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(BucketPrefix { bucket: Bucket::open(bucket)?, prefix })
    }

    pub(crate) fn bucket(&self) -> &Arc<Bucket> {
        &self.bucket
    }

    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    pub(crate) fn display(&self, name: &str) -> String {
        self.bucket.display(&self.key(name))
    }
}
