//! A verifier behind HTTPS: its certificate is checked, and so is its name.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output};
use std::sync::Arc;

use goodarm_testing::TestFolder;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::tool::{message, text};

/// Serves scores for `name` on 127.0.0.1 for ever; its port, and its authority's certificate.
fn serve(name: &str) -> (u16, String) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new([name.to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &authority).expect("a certificate");
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .expect("a key that fits");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            let mut stream = StreamOwned::new(connection, stream);
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                // Requests are shorter than this, and a client that does not trust us sends none.
                while stream.read(&mut request).is_ok_and(|count| count > 0) {
                    let reply = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"score\":1}";
                    if stream.write_all(reply.as_bytes()).and_then(|()| stream.flush()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    (port, authority.pem())
}

fn run(place: &TestFolder, port: u16, trusted: &str) -> Output {
    place.write("ca.pem", trusted);
    place.write("answers.jsonl", "{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
    let job = format!(
        "candidates = \"answers.jsonl\"\nbudget = 200\ndelta = 0.05\n[[verifiers]]\nname = \"tls\"\n\
         kind = \"http\"\nurl = \"https://localhost:{port}/\"\nthreshold = 0.5\nscores = \"binary\"\n\
         patience = 1\n"
    );
    place.write("job.toml", &job);
    Command::new(env!("CARGO_BIN_EXE_goodarm"))
        .args(["run", "job.toml", "--quiet"])
        .current_dir(place.path())
        .env("SSL_CERT_FILE", place.join("ca.pem"))
        .output()
        .expect("the tool starts")
}

#[test]
fn a_verifier_behind_https_is_called() {
    let place = TestFolder::new(&[]);
    let (port, authority) = serve("localhost");
    let output = run(&place, port, &authority);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    assert!(text(&output).contains("2 of 2 answers certified"), "{}", text(&output));
}

#[test]
fn a_server_that_cannot_prove_its_name_gets_nothing() {
    let place = TestFolder::new(&[]);
    let (port, authority) = serve("elsewhere.example");
    let output = run(&place, port, &authority);
    assert_eq!(output.status.code(), Some(3), "{}", message(&output));
    assert!(message(&output).contains("certificate"), "{}", message(&output));

    let place = TestFolder::new(&[]);
    let (port, _) = serve("localhost");
    let (_, stranger) = serve("localhost");
    let output = run(&place, port, &stranger);
    assert_eq!(output.status.code(), Some(3), "{}", message(&output));
}
